package api

import (
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

// A Usage is what one user took.
type Usage struct {
	User string `json:"user"`
	// Quotas are the bounds that hold; none: nothing is bounded.
	Quotas []QuotaState `json:"quotas"`
	// Running are requests that run now.
	Running int `json:"running"`
	// Days are those on which something was taken, the newest first.
	Days []UsedDay `json:"days"`
}

// A UsedDay is what was taken from one midnight to the next, by the daemon's
// clock.
type UsedDay struct {
	Day string `json:"day"` // 2026-01-02
	// Refused are requests over a quota; they are not among Requests.
	Requests   int64        `json:"requests"`
	Refused    int64        `json:"refused"`
	Prompt     int64        `json:"prompt_tokens"`
	Completion int64        `json:"completion_tokens"`
	Cost       []store.Cost `json:"cost,omitempty"`
}

// A UserList is what GET /api/users answers.
type UserList struct {
	Users []UserRow `json:"users"`
}

// A UserRow is one user without the token. Lists that are null allow everything.
type UserRow struct {
	Name string `json:"name"`
	// Token reports whether the user has a token. Without one, the user has no access.
	Token    bool        `json:"token"`
	Profiles []string    `json:"profiles"`
	Models   []string    `json:"models"`
	Tools    []string    `json:"tools"`
	Deny     []string    `json:"deny_tools"`
	Locale   tool.Locale `json:"locale,omitempty"`
	// Usage is today's.
	Usage Usage `json:"usage"`
}

// UserData is what the store holds of somebody.
type UserData struct {
	User          string `json:"user"`
	Conversations int    `json:"conversations"`
	Messages      int    `json:"messages"`
	Calls         int    `json:"calls"`
	Archives      int    `json:"archives"`
	// ArchiveBytes is what the archives' texts take on disk.
	ArchiveBytes int64 `json:"archive_bytes"`
	// Days are those on which something was counted for the quotas.
	Days int `json:"days"`
}

// UserDataOf returns what is stored of somebody.
func UserDataOf(name string, b store.Inventory) UserData {
	return UserData{name, b.Conversations, b.Messages, b.Calls, b.Archives, b.ArchiveBytes, b.Days}
}
