package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
)

// overStdio starts a server on pipes. All workers share them.
func overStdio(ctx context.Context, args []string, workers int) (*caller, error) {
	out := make(chan io.Reader, 1)
	p, err := start(ctx, args, out)
	if err != nil {
		return nil, err
	}
	s := &pipes{in: p.in, answers: make([]chan bool, workers+1)}
	for i := range s.answers {
		s.answers[i] = make(chan bool, 1)
	}
	go s.deliver(bufio.NewReaderSize(<-out, 1<<20))
	if err = s.say(initialize); err == nil && !<-s.answers[0] {
		err = errors.New("the server does not greet back")
	}
	if err == nil {
		err = s.say(initialized)
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &caller{call: s.call, process: p}, nil
}

// pipes are a server's input and who waits for what it puts out: greeting and
// workers, each by its id.
type pipes struct {
	answers []chan bool

	mu sync.Mutex
	in io.Writer
}

func (s *pipes) say(line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.in, line+"\n")
	return err
}

func (s *pipes) call(worker int) error {
	if err := s.say(message(worker + 1)); err != nil {
		return err
	}
	if !<-s.answers[worker+1] {
		return errors.New("a call failed")
	}
	return nil
}

// deliver hands answers to who waits for them.
func (s *pipes) deliver(r *bufio.Reader) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			for _, c := range s.answers {
				close(c)
			}
			return
		}
		_, rest, ok := bytes.Cut(line, []byte(`"id":`))
		id := 0
		for _, c := range rest {
			if c < '0' || c > '9' {
				break
			}
			id = id*10 + int(c-'0')
		}
		if ok && id < len(s.answers) {
			s.answers[id] <- id == 0 || bytes.Contains(line, []byte(text))
		}
	}
}
