package redlocktest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A section is one section of INFO's answer.
type section struct {
	name   string
	fields []string // "name:value"
}

// infoLocked returns the answer to INFO: the sections that are asked for, or all. The caller holds
// m.mu.
func (m *Master) infoLocked(asked []string) string {
	for i := range asked {
		asked[i] = strings.ToLower(asked[i])
	}
	all := len(asked) == 0 || slices.ContainsFunc(asked, func(name string) bool {
		return name == "all" || name == "default" || name == "everything"
	})
	var b strings.Builder
	for _, s := range m.sectionsLocked() {
		if !all && !slices.Contains(asked, s.name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		fmt.Fprintf(&b, "# %s%s\r\n", strings.ToUpper(s.name[:1]), s.name[1:])
		for _, field := range s.fields {
			b.WriteString(field + "\r\n")
		}
	}
	return b.String()
}

// sectionsLocked returns what redlock and its doctor read. The caller holds m.mu.
func (m *Master) sectionsLocked() []section {
	p := m.proc
	loading := strings.HasPrefix(m.settings.refusal, "LOADING")
	secondOffset := -1 // where the earlier history ended
	if p.replID2 != noReplID {
		secondOffset = 1
	}
	replication := []string{
		"role:" + m.settings.role,
		"connected_slaves:0",
		"master_replid:" + p.replID,
		"master_replid2:" + p.replID2,
		fmt.Sprintf("second_repl_offset:%d", secondOffset),
	}
	if m.settings.role == "slave" {
		replication = slices.Insert(replication, 1, "master_host:127.0.0.1", "master_port:6379")
	}
	return []section{
		{"server", []string{
			"redis_version:7.4.0",
			"redis_mode:standalone",
			"run_id:" + p.runID,
			fmt.Sprintf("server_time_usec:%d", m.nowLocked().UnixMicro()),
			fmt.Sprintf("uptime_in_seconds:%d", m.nowLocked().Unix()-p.started.Unix()),
		}},
		{"clients", []string{fmt.Sprintf("connected_clients:%d", len(p.sessions))}},
		{"memory", []string{"maxmemory:0", "maxmemory_policy:noeviction"}},
		{"persistence", []string{
			fmt.Sprintf("loading:%d", btoi(loading)),
			fmt.Sprintf("aof_enabled:%d", btoi(m.settings.aof)),
		}},
		{"replication", replication},
	}
}

// configLocked answers CONFIG GET for the settings that matter to locks. The caller holds m.mu.
func (m *Master) configLocked(patterns []string) []string {
	appendonly, appendfsync := "no", "everysec"
	if m.settings.aof {
		appendonly, appendfsync = "yes", "always"
	}
	var found []string
	for _, pair := range [][2]string{
		{"appendfsync", appendfsync},
		{"appendonly", appendonly},
		{"maxmemory", "0"},
		{"maxmemory-policy", "noeviction"},
		{"save", ""},
	} {
		if slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, _ := path.Match(strings.ToLower(pattern), pair[0])
			return ok
		}) {
			found = append(found, pair[0], pair[1])
		}
	}
	return found
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
