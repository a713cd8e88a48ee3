package node

import (
	"bytes"
	"fmt"
	"net"
)

// framing follows the replies on a connection, byte by byte, and refuses what is no reply to any of our
// commands. redigo believes what a server says: it makes room for a string or a list as long as that is
// said to be, calls itself for a list in a list, and keeps a line until it ends. So one reply could end
// the process. What a framing lets through takes redigo some 100 MB at most.
//
// The zero framing expects a reply.
type framing struct {
	kind   byte // of the line that has begun, 0 between lines
	length int  // of that line, so far
	number int  // in it, if it tells a length
	minus  bool // which is negative
	skip   int  // how much of a string is still to come

	// Of the reply:
	lists    [deepest]int // how many elements of each list are still to come
	depth    int
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
	longestCount = 9       // digits
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
		if f.kind == 0 {
			f.kind, f.length, f.number, f.minus = p[0], 0, 0, false
			p = p[1:]
		}
		part, rest, ends := bytes.Cut(p, lineEnd)
		if err := f.part(part); err != nil {
			return err
		}
		if ends {
			if err := f.line(); err != nil {
				return err
			}
		}
		p = rest
	}
	return nil
}

var lineEnd = []byte("\n")

// part takes in a part of a line, without the first byte and the last.
func (f *framing) part(p []byte) error {
	switch f.kind {
	case ':', '+', '-':
		if f.length += len(p); f.length > longestLine {
			return fmt.Errorf("%w: a line of more than %d bytes", errReply, longestLine)
		}
	case '$', '*':
		for _, c := range p {
			f.length++
			switch {
			case c >= '0' && c <= '9' && f.length <= longestCount:
				f.number = 10*f.number + int(c-'0')
			case c == '-' && f.length == 1:
				f.minus = true
			case c != '\r':
				return fmt.Errorf("%w: a length that begins with %d and goes on with %q", errReply, f.number, c)
			}
		}
	default:
		return fmt.Errorf("%w: a line that begins with %q", errReply, f.kind)
	}
	return nil
}

// line takes in the end of a line.
func (f *framing) line() error {
	kind := f.kind
	f.kind = 0
	switch {
	case kind != '$' && kind != '*' || f.minus && f.number == 1 || kind == '*' && f.number == 0:
		f.end()
	case f.minus:
		return fmt.Errorf("%w: a length of -%d", errReply, f.number)
	case kind == '$':
		f.skip = f.number + len("\r\n")
		if f.bytes += f.number; f.bytes > mostBytes {
			return fmt.Errorf("%w: strings of %d bytes", errReply, f.bytes)
		}
	default:
		if f.elements += f.number; f.elements > mostElements {
			return fmt.Errorf("%w: lists of %d elements", errReply, f.elements)
		}
		if f.depth == deepest {
			return fmt.Errorf("%w: more than %d lists in one another", errReply, deepest)
		}
		f.lists[f.depth] = f.number
		f.depth++
	}
	return nil
}

// end takes in the end of a reply, or of an element.
func (f *framing) end() {
	for ; f.depth > 0; f.depth-- {
		if f.lists[f.depth-1]--; f.lists[f.depth-1] > 0 {
			return
		}
	}
	f.elements, f.bytes = 0, 0
}

// framedConn is a connection on which only such replies are read as some command has.
type framedConn struct {
	net.Conn
	replies framing
}

func (c *framedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if bad := c.replies.take(p[:n]); bad != nil {
		return 0, bad
	}
	return n, err
}
