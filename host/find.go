package host

// FindTools returns the names of at most n tools that a question is about, best first,
// among those that sees accepts; nil: no tool fits. It finds tools by their names, by
// words of their descriptions and parameters, and by words that mean the same.
func (h *Host) FindTools(query string, n int, sees func(name string) bool) []string {
	return h.finder.Find(query, n, func(name string) bool {
		_, ok := h.Tool(name) // the index may be older than the tools
		return ok && sees(name)
	})
}

// FindTools returns what Host.FindTools returns, among all tools.
func (s *Session) FindTools(query string, n int) []string {
	return s.h.FindTools(query, n, func(string) bool { return true })
}

// Source returns the plugin or MCP server of a tool; empty: it is none of theirs.
func (s *Session) Source(name string) string {
	info, _ := s.h.Tool(name)
	return info.Plugin
}
