package node

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// framing follows the replies on a connection, byte by byte, and refuses what is no reply to any of our
// commands. redigo believes what a server says: it makes room for a string or a list as long as that is
// said to be, calls itself for a list in a list, and keeps a line until it ends. So one reply could end
// the process. What a framing lets through takes redigo some 100 MB at most.
//
// The zero framing expects a reply.
type framing struct {
	line []byte // that has begun, without its end
	skip int    // how much of a string is still to come

	// Of the reply:
	lists    []int // how many elements of each list are still to come
	elements int
	bytes    int
}

// Bounds that no reply comes near. The largest are those of SCAN and of scripts that tell who has a name,
// and what another program has put where records of clients are looked for.
const (
	deepest      = 8       // lists in one another
	mostElements = 1 << 20 // of all lists
	mostBytes    = 1 << 26 // of all strings
	longestLine  = 1 << 16 // an error, usually
)

// take takes in what was read.
func (f *framing) take(p []byte) error {
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(p))
			p = p[n:]
			if f.skip -= n; f.skip == 0 {
				f.end()
			}
			continue
		}
		part, rest, ends := bytes.Cut(p, lineEnd)
		if f.line = append(f.line, part...); len(f.line) > longestLine {
			return fmt.Errorf("%w: a line of more than %d bytes", errReply, longestLine)
		}
		if first := f.line[:min(len(f.line), 1)]; !bytes.ContainsAny(first, ":+-$*") {
			return fmt.Errorf("%w: a line that begins with %q", errReply, first)
		}
		if ends {
			if err := f.takeLine(); err != nil {
				return err
			}
		}
		p = rest
	}
	return nil
}

var lineEnd = []byte("\n")

// takeLine takes in the end of a line.
func (f *framing) takeLine() error {
	kind, text := f.line[0], bytes.TrimSuffix(f.line[1:], []byte("\r"))
	f.line = f.line[:0]
	if kind != '$' && kind != '*' {
		f.end()
		return nil
	}
	length, err := strconv.Atoi(string(text))
	switch {
	case err != nil || length < -1:
		return fmt.Errorf("%w: a length of %.20q", errReply, text)
	case length == -1 || kind == '*' && length == 0:
		f.end()
	case kind == '$':
		f.skip = length + len("\r\n")
		if f.bytes += min(length, mostBytes+1); f.bytes > mostBytes {
			return fmt.Errorf("%w: strings of more than %d bytes", errReply, mostBytes)
		}
	default:
		if f.elements += min(length, mostElements+1); f.elements > mostElements {
			return fmt.Errorf("%w: lists of more than %d elements", errReply, mostElements)
		}
		if f.lists = append(f.lists, length); len(f.lists) > deepest {
			return fmt.Errorf("%w: more than %d lists in one another", errReply, deepest)
		}
	}
	return nil
}

// end takes in the end of a reply, or of an element.
func (f *framing) end() {
	for last := len(f.lists) - 1; last >= 0; last-- {
		if f.lists[last]--; f.lists[last] > 0 {
			return
		}
		f.lists = f.lists[:last]
	}
	f.elements, f.bytes = 0, 0
}

// framedConn is a connection on which only such replies are read as some command has.
type framedConn struct {
	net.Conn
	replies    framing
	mayWantTLS bool // it has said nothing yet: a port that expects TLS answers with an alert, or hangs up
}

func (c *framedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.mayWantTLS {
		if n > 1 && p[0] == 0x15 && p[1] == 0x03 {
			return 0, errTLSPort
		}
		if n == 0 && errors.Is(normalize(err), errHungUp) {
			err = errHungUpFirst
		}
		c.mayWantTLS = n == 0
	}
	if bad := c.replies.take(p[:n]); bad != nil {
		return 0, bad
	}
	return n, err
}
