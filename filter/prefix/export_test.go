package prefix

// Fit is what one recognizer makes of a line.
type Fit struct {
	Kind Kind
	End  int
}

// Fits returns what each recognizer that accepts the beginning of a line makes of it, whatever bytes it is listed under.
func Fits(line []byte) (fits []Fit) {
	i := escapes(line, 0)
	if i == len(line) {
		return nil
	}
	for _, l := range rows {
		if l.indent == mustIndent && line[i] != ' ' && line[i] != '\t' {
			continue
		}
		r := Reader{whole: line}
		if end := l.read(&r, line, i); end >= 0 {
			fits = append(fits, Fit{r.p.Kind, end})
		}
	}
	r := Reader{whole: line}
	if end := gitHubJob(&r, line, i); end >= 0 {
		fits = append(fits, Fit{r.p.Kind, end})
	}
	return fits
}

// Row is a row of the table.
type Row struct {
	Sample string
	// Fit is what its recognizer alone makes of the sample, Found whether the table leads to it.
	Fit   Fit
	Found bool
}

// Rows returns the rows of the table, and what becomes of their samples.
func Rows() []Row { return rowsOf(&builtin) }

func rowsOf(t *table) (out []Row) {
	for n, l := range t.rows {
		line := []byte(l.sample)
		alone, all := Reader{whole: line}, Reader{table: t, whole: line}
		fit := Fit{End: l.read(&alone, line, 0)}
		fit.Kind = alone.p.Kind
		end := all.layer(line, 0, 0)
		out = append(out, Row{l.sample, fit, end == fit.End && int(all.learned[0]) == n})
	}
	return out
}

// AddRow returns a Reader that has one more recognizer, and the rows of its table.
func AddRow(first, sample string, read func(line []byte, at int) int) (*Reader, []Row) {
	added := row{first, flush, func(r *Reader, line []byte, at int) int {
		end := read(line, at)
		if end >= 0 {
			r.p.Kind = Kind(len(kindNames))
		}
		return end
	}, sample}
	t := newTable(append(append([]row(nil), rows[:]...), added))
	return &Reader{table: t}, rowsOf(t)
}

// Kinds returns all kinds.
func Kinds() (all []Kind) {
	for k := range kindNames {
		all = append(all, Kind(k))
	}
	return all
}
