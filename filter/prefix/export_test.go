package prefix

// Fit is what one recogniser makes of a line.
type Fit struct {
	Kind Kind
	End  int
}

// Fits returns what each recogniser that accepts the beginning of a line makes of it, whatever bytes it is listed under.
func Fits(line []byte) (fits []Fit) {
	i := escapes(line, 0)
	if i == len(line) {
		return nil
	}
	for _, l := range layers {
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
