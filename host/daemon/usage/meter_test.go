package usage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/sdk/tool"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m}.Run()) }

func openStore(t *testing.T) *store.Store {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Config{Path: filepath.Join(t.TempDir(), "archive.db"), URL: pgtest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	db, err := store.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// A brokenStore is a store whose writes fail while broken is true.
type brokenStore struct {
	*store.Store
	broken bool
}

func (b *brokenStore) AddUsage(ctx context.Context, list []store.Increment) error {
	if b.broken {
		return errors.New("the disk is full")
	}
	return b.Store.AddUsage(ctx, list)
}

// Counts that cannot be written are written later.
func TestUsageThatCannotBeWritten(t *testing.T) {
	db := &brokenStore{openStore(t), true}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	m := NewMeter(db, func() time.Time { return now }, hclog.NewNullLogger())
	ann := Account{Principal: "ann", Quota: Quota{PerMinute: 5}}
	m.addReply(Account{Principal: "ann"}, agent.Usage{Prompt: 7}, &agent.Cost{Amount: 1, Currency: "USD"})
	r, err := m.Begin(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	r.End()
	r.End() // the second End changes nothing
	m.Flush()
	m.addReply(Account{Principal: "ann"}, agent.Usage{Prompt: 5}, &agent.Cost{Amount: 2, Currency: "USD"})
	db.broken = false
	m.Flush()
	got, err := NewMeter(db, m.now, m.log).Report(t.Context(), ann, 1)
	if err != nil || len(got.Days) != 1 || got.Days[0].Prompt != 12 || got.Days[0].Requests != 1 || len(got.Days[0].Costs) != 1 || got.Days[0].Costs[0].Amount != 3 {
		t.Errorf("%+v, error %v", got, err)
	}
	if len(got.Quotas) != 1 || got.Quotas[0].Used != 1 || m.Running("ann") != 0 {
		t.Errorf("%+v, %d run", got.Quotas, m.Running("ann"))
	}
}

// Every rejection names the quota, the limit and what to do, in both languages.
func TestRejections(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	later := now.Add(30 * time.Second)
	for _, row := range []struct {
		state  api.QuotaState
		en, zh string
		wait   time.Duration
	}{
		{api.QuotaState{Name: RequestsPerMinute, Used: 3, Limit: 3, Free: &later}, "quota exhausted: 3 requests per minute allowed, 3 used; try again at 12:00:30", "每分钟请求数的配额已用完：上限 3 次，已用 3 次；请于 12:00:30 后再试", 30 * time.Second},
		{api.QuotaState{Name: ConcurrentTurns, Used: 2, Limit: 2}, "quota exhausted: 2 concurrent requests allowed, 2 running; wait until one of them ends, then try again", "同时进行的请求的配额已用完：上限 2 个，正在进行 2 个；等其中一个结束后再试", time.Second},
		{api.QuotaState{Name: TokensPerDay, Used: 20, Limit: 10, Free: &later}, "quota exhausted: 10 tokens per day allowed, 20 used; try again at 2026-03-04 12:00:30, or ask the operator for a higher quota", "每日词元的配额已用完：上限 10 个，已用 20 个；请于 2026-03-04 12:00:30 后再试，或请管理员提高配额", 30 * time.Second},
		{api.QuotaState{Name: CostPerDay, Used: 1.25, Limit: 1, Unit: "USD", Free: &later}, "quota exhausted: 1 USD per day allowed, 1.25 USD used; try again at 2026-03-04 12:00:30, or ask the operator for a higher quota", "每日费用的配额已用完：上限 1 USD，已用 1.25 USD；请于 2026-03-04 12:00:30 后再试，或请管理员提高配额", 30 * time.Second},
		{api.QuotaState{Name: ArchiveBytes, Used: 9, Limit: 9}, "quota exhausted: 9 archived bytes allowed, 9 used; delete conversations or archives that you do not need", "存档空间的配额已用完：上限 9 字节，已用 9 字节；请删除不再需要的会话或存档", 0},
		{api.QuotaState{Name: ArchiveBytes, Limit: -1}, "the quota allows no archived results; ask the operator if you need it", "配额不允许存档结果；如有需要，请联系管理员", 0},
	} {
		p := rejection(row.state, now)
		if p.Error() != row.en || p.In(tool.Zh).Error() != strings.Replace(row.zh, "；", "; ", 1) && p.In(tool.Zh).Error() != row.zh || p.RetryAfter != row.wait {
			t.Errorf("%s: %q, %q, %v", row.state.Name, p.Error(), p.In(tool.Zh).Error(), p.RetryAfter)
		}
	}
	for name, w := range textsByQuota() {
		if _, ok := map[string]bool{RequestsPerMinute: true, ConcurrentTurns: true, TokensPerDay: true, CostPerDay: true, ArchiveBytes: true}[name]; !ok || w.exhausted == "" || w.forbidden == "" || w.hint == "" {
			t.Errorf("%s: %+v", name, w)
		}
	}
}
