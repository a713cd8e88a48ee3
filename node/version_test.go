package node

import (
	"errors"
	"testing"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

func TestTooOld(t *testing.T) {
	for version, want := range map[string]bool{
		"2.8.24": true, "5.0.14": true, "6.0.16": true, "6.1.240": true, "6": true,
		"6.2.0": false, "6.2": false, "6.10.0": false, "7.0.15": false, "7.4.0-rc1": false, "255.255.255": false, "10.0.0": false,
		"": false, "unknown": false,
	} {
		if got := checkVersion(version) != nil; got != want {
			t.Errorf("tooOld(%q): got %v, want %v", version, got, want)
		}
	}
}

// TestOldMasterIsRefused: before it is asked for anything, with an error that names both
// versions.
func TestOldMasterIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool = bend(cfg.Pool, &rules{answer: func(words string) any {
			if words == "INFO" {
				return []byte("redis_version:6.0.16\r\nrun_id:abc\r\nrole:master\r\nuptime_in_seconds:99999\r\n")
			}
			return nil
		}})
		n := start(t, cfg)
		until(t, time.Second, n.isDown)
		got := call1(n, script.NewOwner("k", id("me:r1")).Acquire(lease, 1))
		wantErr(t, "acquire", got, script.Unsent, "runs Redis 6.0.16, but 6.2 or later is needed")
		if old, ok := errors.AsType[*VersionError](got.Err); !ok || old.Version != "6.0.16" {
			t.Errorf("acquire: got %#v, want a *VersionError for 6.0.16", got.Err)
		}
		if calls := m.Calls("EVALSHA") + m.Calls("EVAL"); calls > 0 {
			t.Errorf("it was sent %d scripts, want none", calls)
		}
	})
}
