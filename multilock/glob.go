package multilock

// matches reports whether name matches pattern in the manner of Redis: * stands for any characters, ?
// for one, [abc], [a-z] and [^a] for one of those, and \ takes from the next its meaning.
func matches(pattern, name string) bool {
	for pattern != "" {
		if pattern[0] == '*' {
			for i := range len(name) + 1 {
				if matches(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if name == "" {
			return false
		}
		var ok bool
		if ok, pattern = matchOne(pattern, name[0]); !ok {
			return false
		}
		name = name[1:]
	}
	return name == ""
}

// matchOne matches the first part of pattern with c, and returns what is behind it.
func matchOne(pattern string, c byte) (ok bool, rest string) {
	switch {
	case pattern[0] == '?':
		return true, pattern[1:]
	case pattern[0] == '[':
		return matchSet(pattern[1:], c)
	case pattern[0] == '\\' && len(pattern) > 1:
		pattern = pattern[1:]
	}
	return pattern[0] == c, pattern[1:]
}

// matchSet matches the inside of brackets with c. Those that are not closed go to the end.
func matchSet(set string, c byte) (ok bool, rest string) {
	not := set != "" && set[0] == '^'
	if not {
		set = set[1:]
	}
	for set != "" && set[0] != ']' {
		switch {
		case set[0] == '\\' && len(set) > 1:
			ok = ok || set[1] == c
			set = set[2:]
		case len(set) > 2 && set[1] == '-':
			low, high := min(set[0], set[2]), max(set[0], set[2])
			ok = ok || low <= c && c <= high
			set = set[3:]
		default:
			ok = ok || set[0] == c
			set = set[1:]
		}
	}
	if set != "" {
		set = set[1:]
	}
	return ok != not, set
}
