package archive

import "context"

// Delete deletes one entry because a person wants it gone: unlike after Drop,
// nothing of it is left in the file or its log when it returns. What messages
// show of it stays until their conversation is deleted. It answers ErrNotFound
// like Get, and deletes pruned entries too.
func (s *Store) Delete(ctx context.Context, sc Scope, uuid string) error {
	if err := s.Drop(ctx, sc, uuid); err != nil {
		return err
	}
	return s.reclaim(ctx, true)
}
