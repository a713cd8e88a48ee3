package doctor

import (
	"fmt"

	"example.com/redlock/node"
)

// full is which share of its memory a master may use before it is said to be nearly full, in percent.
const full = 90

// limits returns the eviction policy, the limit of the memory and how much is used; 0: no limit.
func limits(f *node.Facts) (policy string, limit, used int64) {
	policy, _ = setting(f, "maxmemory-policy", "maxmemory_policy")
	limit, _ = settingNumber(f, "maxmemory", "maxmemory")
	used, _ = info(f, "used_memory")
	return policy, limit, used
}

func (e *exam) evictionPolicy(f *node.Facts) {
	const remedy = "CONFIG SET maxmemory-policy noeviction"
	switch policy, limit, used := limits(f); {
	case policy == "":
		e.note(f, "eviction-policy", Note, "permit INFO, or look by hand whether maxmemory-policy is noeviction", "maxmemory-policy could not be seen")
	case policy == "noeviction":
	case limit == 0:
		e.note(f, "eviction-policy", Warning, remedy, "maxmemory-policy is %s, which evicts locks as soon as somebody sets maxmemory", policy)
	default:
		e.note(f, "eviction-policy", Error, remedy,
			"maxmemory-policy is %s, and %d%% of maxmemory (%s) are used: to evict a lock is to unlock it", policy, 100*used/limit, size(limit))
	}
}

func (e *exam) evictionPolicyOK() string { return okIfReached(e, "noeviction") }

func (e *exam) evictedKeys(f *node.Facts) {
	n, _ := info(f, "evicted_keys")
	if n == 0 {
		return
	}
	severity, policy := Error, ""
	if policy, _, _ = limits(f); policy == "noeviction" {
		severity = Warning
	}
	e.note(f, "evicted-keys", severity, "give it more memory; keep locks apart from a cache",
		"evicted %s since it started, with or without locks among them", count(int(n), "key"))
}

func (e *exam) memory(f *node.Facts) {
	_, limit, used := limits(f)
	what := "maxmemory"
	if limit == 0 {
		limit, _ = info(f, "total_system_memory")
		used, _ = info(f, "used_memory_rss")
		what = "the machine's memory"
	}
	if limit > 0 && 100*used/limit >= full {
		e.note(f, "memory", Warning, "give it more memory, or take out what is no lock",
			"%d%% of %s (%s) are used: a full master refuses locks (OOM)", 100*used/limit, what, size(limit))
	}
}

func (e *exam) memoryOK() string {
	var most int64
	for _, f := range e.reached() {
		_, _, used := limits(f)
		most = max(most, used)
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf("at most %s used", size(most))
}

// okIfReached returns the verdict, if there is a master that it could be about.
func okIfReached(e *exam, verdict string) string {
	if len(e.reached()) == 0 {
		return ""
	}
	return verdict
}
