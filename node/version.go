package node

import (
	"fmt"
	"strconv"
	"strings"
)

// least is the oldest Redis that has all that the scripts call, and channels in its ACL rules.
var least = [2]int{6, 2}

// VersionError says that a master is too old.
type VersionError struct {
	Version string // as it tells
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("runs Redis %s, but %d.%d or later is needed", e.Version, least[0], least[1])
}

// tooOld returns a *VersionError for a version below the least. What is no version says
// nothing of a master's age.
func tooOld(version string) error {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	if err != nil {
		return nil
	}
	minor, _ := strconv.Atoi(second)
	if major < least[0] || major == least[0] && minor < least[1] {
		return &VersionError{Version: version}
	}
	return nil
}
