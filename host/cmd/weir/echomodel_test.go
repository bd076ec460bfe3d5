package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// echoModel is a model that repeats its input, with bars for line breaks. On
// request it speaks for ever.
func echoModel(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct{ Content string }
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(s string) {
		text, _ := json.Marshal(s) // a string always marshals
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text)
		w.(http.Flusher).Flush()
	}
	heard := body.Messages[len(body.Messages)-1].Content
	if strings.HasSuffix(heard, "for ever") {
		for r.Context().Err() == nil {
			say("and on ")
			select {
			case <-r.Context().Done():
			case <-time.After(5 * time.Millisecond): // slow enough for the reader
			}
		}
		return
	}
	say("heard <" + strings.ReplaceAll(heard, "\n", "|") + ">")
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}
