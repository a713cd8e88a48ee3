package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/redlock/integration/fleet"
	"example.com/redlock/internal/history"
)

// outlive are the keys that stay for a while when nobody has or waits for anything, by how their names
// begin: the fencing counters, the clients' records and the sets of masters in use.
var outlive = []string{"redlock_fence:", "redlock_client:", "redlock_sets"}

// audit records what is left on each master.
func (s *stage) audit() error {
	return fleet.Each(only(s.masters, nil), func(m *fleet.Master) error {
		keys, err := m.Keys()
		if err != nil {
			return fmt.Errorf("what is left on %s: %w", m.Name(), err)
		}
		var left []string
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if !slices.ContainsFunc(outlive, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
				left = append(left, key+": "+keys[key])
			}
		}
		s.rec.Add(history.Event{What: history.Audited, Who: m.Name(), Left: left})
		return nil
	})
}
