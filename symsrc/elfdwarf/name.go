package elfdwarf

import (
	"strings"
	"sync"

	"qss-filter/symsrc"
)

// name is a function's name.
type name struct {
	linkage   string // as the file has it
	demangled string
}

// maxName bounds a name; a longer one is damage.
const maxName = 1 << 16

// nameTable holds the names of a file, for demangling is dear and the same functions are inlined all over.
type nameTable struct {
	mu sync.Mutex
	m  map[string]*name
}

// find gives the name of that linkage name, demangled.
func (t *nameTable) find(linkage []byte) *name {
	if len(linkage) > maxName {
		linkage = nil
	}
	t.mu.Lock()
	n := t.m[string(linkage)]
	t.mu.Unlock()
	if n != nil {
		return n
	}
	n = newName(string(linkage))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.m == nil {
		t.m = make(map[string]*name)
	}
	t.m[n.linkage] = n
	return n
}

// newName demangles a name of the file, without its symbol version.
func newName(linkage string) *name {
	n := &name{linkage: linkage}
	plain := n.linkage
	if at := strings.IndexByte(plain, '@'); at > 0 && plain[0] != '?' { // not a name of Microsoft's
		plain = plain[:at]
	}
	n.demangled = symsrc.Demangle(plain)
	return n
}

// nameOf is the name of the function whose entry stands at die. The unit is locked.
func (u *unit) nameOf(die int) *name {
	if n, ok := u.names[die]; ok {
		return n
	}
	if u.names == nil {
		u.names = make(map[int]*name)
	}
	n := u.readName(die, false)
	u.names[die] = n
	return n
}

// maxOrigins bounds a chain of origins and specifications; real ones are three or four long.
const maxOrigins = 16

// readName follows the origins and the specifications of an entry, which may lead to other units and to the
// supplementary file, to the first linkage
// name, or else the first name. A short name is the first name, whatever the linkage name.
func (u *unit) readName(die int, short bool) *name {
	f, in := u.f, u.f
	var plain []byte
	var d attributes
	for range maxOrigins {
		if in != u.f || die < u.die || die >= u.end {
			if u = in.unitOf(die); u == nil {
				break
			}
		}
		b := u.bytes()
		code, p := uleb(b, die)
		a, _ := u.abbrevs.find(code)
		if a.tag == 0 || u.readEntry(b, p, a.read(), &d) == past {
			break
		}
		if s := u.text(&d, attrLinkageName); len(s) > 0 && !short {
			return f.names.find(s)
		}
		if plain == nil {
			plain = u.text(&d, attrName)
		}
		var ok bool
		if in, die, ok = u.target(&d, attrSpecification); !ok {
			if in, die, ok = u.target(&d, attrOrigin); !ok {
				break
			}
		}
	}
	return f.names.find(plain)
}
