package node

import (
	"fmt"
	"strconv"
	"strings"
)

// minVersion is the oldest Redis that has every command the scripts call, and channels in ACL
// rules.
var minVersion = [2]int{6, 2}

// VersionError says that a master is too old.
type VersionError struct {
	Version string // as INFO tells it
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("runs Redis %s, but %d.%d or later is needed", e.Version, minVersion[0], minVersion[1])
}

// checkVersion returns a *VersionError for a version below minVersion, and nil for text that is no
// version.
func checkVersion(version string) error {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	if err != nil {
		return nil
	}
	minor, _ := strconv.Atoi(second)
	if major < minVersion[0] || major == minVersion[0] && minor < minVersion[1] {
		return &VersionError{Version: version}
	}
	return nil
}
