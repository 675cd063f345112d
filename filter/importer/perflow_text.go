package importer

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
)

// text reads stacks from text. Maps in it become the snapshot of the stacks behind them; other lines stay as they are.
func (r *stackReader) text(ctx context.Context, in perFlowInput) error {
	f, err := r.out.open(in.path)
	if err != nil {
		return err
	}
	defer f.Close()
	t := textStacks{stackReader: r, dump: mappingList{out: r.out}}
	n := 0
	err = eachLine(bufio.NewReaderSize(f, 1<<16), func(line []byte, torn bool) error {
		t.torn = torn
		t.line(ctx, line)
		if n++; n%(1<<10) == 0 {
			return r.out.failed(ctx)
		}
		return nil
	})
	t.close()
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("read %s: %w", in.path, err)
	}
	return err
}

// textStacks is the state between the lines of a text.
type textStacks struct {
	*stackReader
	torn   bool // what comes is the rest of a line
	export bool // the numbers in brackets are counts, not times
	open   bool // a stack is being read
	dump   mappingList
}

func (t *textStacks) line(ctx context.Context, line []byte) {
	body := bytes.TrimRight(line, "\r\n")
	if t.torn {
		t.other(line, body)
		return
	}
	if m, ok := parseMapping(body); ok {
		t.close()
		t.dump.add(m)
		return
	}
	t.dumped()
	if h, ok := parseHeader(body); ok {
		t.close()
		t.open = true
		t.choose(h)
		count := int64(1)
		if t.export {
			count = t.out.signed(h.count)
		}
		t.begin(string(line), count)
		return
	}
	if addr, ok := bareAddress(body); ok {
		if !t.open {
			t.begin("", 1)
			t.open = true
		}
		t.frame(ctx, addr)
		return
	}
	t.other(line, body)
}

// other passes a line on that is none of PerFlow's.
func (t *textStacks) other(line, body []byte) {
	t.close()
	if bytes.HasPrefix(body, exportHead) {
		t.export = true
	}
	if id, ok := numberBehind(body, mapIDWord); ok {
		t.mapID = id
	}
	t.out.printf("%s", line)
}

// dumped makes the maps that were read the snapshot from here on.
func (t *textStacks) dumped() {
	if len(t.dump.all) == 0 {
		return
	}
	t.now = newSpace(t.dump.all, wholeMaps)
	t.keep(t.mapID, t.now)
	t.dump.all = nil
}

// choose takes the snapshot that a stack names. Where there is none of that number nothing is known.
func (t *textStacks) choose(h header) {
	if h.byID {
		t.now = t.spaces[h.mapID]
		if t.now == nil {
			t.now = &space{}
		}
	}
}

// close ends the stack at hand.
func (t *textStacks) close() {
	if t.open {
		t.end()
		t.open = false
	}
}
