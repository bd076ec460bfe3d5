package core

type Server struct{ Store *Store }

func Serve(s *Store, names ...string) error {
	for _, n := range names {
		if err := s.Put(Record{Name: trim(n)}); err != nil {
			return err
		}
	}
	return nil
}

func main() {}
