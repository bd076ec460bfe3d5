package openai

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/internal/testtime"
)

// An error before the first piece is an answer with a status, and no stream opens after
// it.
func TestNoStreamAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		c := &completion{stream: true, w: w, gone: func() {}}
		stop := c.keepAlive(sse.Heartbeat)
		if err := c.finish(api.ChatEnd{}, api.Problemf(http.StatusConflict, api.CodeBusy, "", "busy")); err == nil {
			t.Error("the error is lost")
		}
		testtime.Sleep(sse.Heartbeat) // then the handler continues
		synctest.Wait()
		stop()
		if w.Body.Len() > 0 || w.Header().Get("Content-Type") != "" {
			t.Errorf("%s: %s", w.Header(), w.Body)
		}
	})
}
