package importer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// text reads stacks from text. Maps in it become the snapshot of the stacks behind them; other lines stay as they are.
func (r *stackReader) text(ctx context.Context, in perFlowInput) error {
	f, err := openRegular(in.path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<16)
	t := textStacks{stackReader: r}
	for n := 0; ; n++ {
		line, err := lines.ReadSlice('\n')
		t.line(ctx, line)
		if n%(1<<10) == 0 {
			if err := r.out.failed(ctx); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull): // no line of ours is as long
			t.torn = true
		case errors.Is(err, io.EOF):
			t.close()
			return nil
		case err != nil:
			t.close()
			return fmt.Errorf("read %s: %w", in.path, err)
		default:
			t.torn = false
		}
	}
}

// textStacks is the state between the lines of a text.
type textStacks struct {
	*stackReader
	torn   bool // what comes is the rest of a line
	export bool // the numbers in brackets are counts, not times
	open   bool // a stack is being read
}

func (t *textStacks) line(ctx context.Context, line []byte) {
	body := bytes.TrimRight(line, "\r\n")
	if t.torn {
		t.other(line, body)
		return
	}
	if m, ok := parseMapping(body); ok {
		t.close()
		if len(t.maps) < maxMappings {
			t.maps = append(t.maps, m)
		}
		return
	}
	t.dumped()
	if h, ok := parseHeader(body); ok {
		t.close()
		t.open = true
		t.choose(h)
		count := int64(1)
		if t.export {
			count = int64(h.count)
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
	if len(t.maps) == 0 {
		return
	}
	t.now = newSpace(t.maps, wholeMaps)
	if len(t.spaces) >= maxSnapshots {
		delete(t.spaces, slices.Min(slices.Collect(maps.Keys(t.spaces)))) // the oldest, as they are numbered
	}
	t.spaces[t.mapID] = t.now
	t.maps = nil
}

// Bounds of what a log may make be kept: the mappings of a process (twice what Linux allows), and snapshots.
const (
	maxMappings  = 1 << 17
	maxSnapshots = 1 << 10
)

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
