package importer

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
)

// row is a line of a table: a name, and the values of the stacks whose innermost function it is.
type row struct {
	name   string
	values []int64
}

// WriteTable writes one line per function, address, line or module: each value with its percentage, then the name. The most
// comes first.
func (p *Profile) WriteTable(ctx context.Context, w io.Writer, by By) error {
	out := bufio.NewWriter(w)
	sums := map[string]*row{}
	total := make([]int64, len(p.kinds))
	names := make([]*row, len(p.calls))
	err := p.each(ctx, func(calls []int32, values []int64) error {
		innermost := calls[len(calls)-1]
		r := names[innermost]
		if r == nil {
			name := p.calls[innermost].groupName(by)
			if r = sums[name]; r == nil {
				r = &row{name, make([]int64, len(p.kinds))}
				sums[name] = r
			}
			names[innermost] = r
		}
		for i, v := range values {
			p.stacks.addTo(&r.values[i], v)
			p.stacks.addTo(&total[i], v)
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows := make([]*row, 0, len(sums))
	for _, r := range sums {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *row) int {
		return cmp.Or(slices.Compare(b.values, a.values), cmp.Compare(a.name, b.name))
	})
	for _, k := range p.kinds {
		_, _ = fmt.Fprintf(out, "%12s       %%  ", columnName(k))
	}
	_, _ = fmt.Fprintln(out, by)
	for _, r := range rows {
		for i, v := range r.values {
			_, _ = fmt.Fprintf(out, "%12d %6.2f%%  ", v, percent(v, total[i]))
		}
		_, _ = fmt.Fprintln(out, plain(r.name))
	}
	return out.Flush()
}

func columnName(k ValueKind) string {
	if k.Unit == "count" {
		return k.Type
	}
	return k.Type + "/" + map[string]string{"microseconds": "us", "nanoseconds": "ns"}[k.Unit]
}

// percent is a share of the total in hundredths.
func percent(v, total int64) float64 {
	if total == 0 {
		return 0
	}
	return 100 * float64(v) / float64(total)
}

// String is the word of the flag.
func (b By) String() string {
	return [...]string{"", "function", "address", "line", "module"}[b]
}

// groupName is the name that a call counts for.
func (c *Call) groupName(by By) string {
	function, place := c.name(), ""
	if len(c.Frames) > 0 {
		f := &c.Frames[0]
		function = cmp.Or(f.Func, function)
		if f.File != "" {
			place = " " + f.File + ":" + strconv.Itoa(f.Line)
		}
	}
	switch by {
	case ByModule:
		return cmp.Or(c.Module.Name, "[unknown]")
	case ByLine:
		return function + place
	case ByAddress:
		if c.Addr != 0 {
			return fmt.Sprintf("%s+%#x %s%s", path.Base(cmp.Or(c.Module.Name, "?")), c.Addr, function, place)
		}
	}
	return function
}
