package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhost/weir/host/archive"
)

// statsAge is how long the last reading of the archive's size is served again, and
// statsTime how long one may take: it reads the whole call log.
const (
	statsAge  = 15 * time.Second
	statsTime = 5 * time.Second
)

// archiveSize collects the archive's size when a client reads the metrics.
type archiveSize struct {
	stats func(context.Context) (archive.Stats, error)
	now   func() time.Time
	log   hclog.Logger

	results, pruned, text, stored, file *prometheus.Desc

	mu   sync.Mutex
	last archive.Stats
	read time.Time // the time of last; zero: never
}

func newArchiveSize(stats func(context.Context) (archive.Stats, error), now func() time.Time, log hclog.Logger) *archiveSize {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("weir_archive_"+name, help, nil, nil)
	}
	return &archiveSize{
		stats: stats, now: now, log: log,
		results: desc("results", "Results whose text the archive holds."),
		pruned:  desc("pruned_results", "Results whose text retention removed."),
		text:    desc("text_bytes", "Length of the kept texts."),
		stored:  desc("stored_bytes", "What the kept texts take, compressed, with parts and raw bytes."),
		file:    desc("file_bytes", "Size of the archive's file."),
	}
}

// Describe implements prometheus.Collector.
func (a *archiveSize) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{a.results, a.pruned, a.text, a.stored, a.file} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. If a reading fails, it sends the last
// successful one.
func (a *archiveSize) Collect(ch chan<- prometheus.Metric) {
	s, ok := a.current()
	if !ok {
		return
	}
	for d, v := range map[*prometheus.Desc]int64{
		a.results: int64(s.Archives), a.pruned: int64(s.Pruned), a.text: s.TextBytes, a.stored: s.StoredBytes, a.file: s.FileBytes,
	} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
}

// current returns sums that are not too old; false: there are none.
func (a *archiveSize) current() (archive.Stats, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.now(); a.read.IsZero() || now.Sub(a.read) >= statsAge {
		ctx, cancel := context.WithTimeout(context.Background(), statsTime)
		defer cancel()
		s, err := a.stats(ctx)
		if err != nil {
			a.log.Warn("the archive's size cannot be read", "error", err)
			return a.last, !a.read.IsZero()
		}
		a.last, a.read = s, now
	}
	return a.last, true
}
