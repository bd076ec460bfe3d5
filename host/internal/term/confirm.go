package term

import (
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// Confirm asks for a yes on the terminal. Without a terminal, and without an answer,
// it returns an error with the hint without, which says how to agree with a flag.
// After a no it prints that nothing was changed and returns an ExitError.
func (p *Printer) Confirm(question tool.Text, without string) (bool, error) {
	if p.JSON || !IsTerminal(p.In) {
		return false, msg.Usagef(without, "this asks a person, and there is no terminal to ask on")
	}
	yes, answered := p.yes(question)
	if yes {
		return true, nil
	}
	if !answered {
		return false, msg.Usagef(without, "this asks a person, and no one answered")
	}
	p.Errf("nothing was changed\n")
	return false, ExitError(ExitFailed)
}

// Yes asks a person; everything but yes is no, and nothing ends with it.
func (p *Printer) Yes(question tool.Text) bool {
	yes, _ := p.yes(question)
	return yes
}

func (p *Printer) yes(question tool.Text) (yes, answered bool) {
	answer, answered := p.Ask(p.Text(question) + " [y/N] ")
	switch strings.ToLower(answer) {
	case "y", "yes", "是":
		return true, answered
	}
	return false, answered
}
