package findings

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"qss-filter/symsrc"
)

// maxShown is how many annotations of a kind GitHub shows of a step.
const maxShown = 10

// Commands writes lines that a runner reads, and shows as annotations at lines of the source. It is a Live.
type Commands struct {
	out     io.Writer
	root    string
	line    func(class, path string, at *symsrc.Frame, message string) string
	related bool // whether there are notices
	most    int
	mu      sync.Mutex
	seen    map[string]bool
	ofClass map[string]int
}

// Classes of annotations.
const (
	errorClass  = "error"
	noticeClass = "notice"
)

// GitHub returns what writes workflow commands of GitHub's runner. Paths below root, the repository, are relative to it.
func GitHub(out io.Writer, root string) *Commands {
	return &Commands{out: out, root: root, line: githubLine, related: true, most: maxShown, seen: map[string]bool{}, ofClass: map[string]int{}}
}

// Azure returns what writes logging commands of the agent of Azure Pipelines, which has no notices.
func Azure(out io.Writer, root string) *Commands {
	return &Commands{out: out, root: root, line: azureLine, most: maxFindings, seen: map[string]bool{}, ofClass: map[string]int{}}
}

// Found writes the line of a finding.
func (c *Commands) Found(f *Finding) { c.write(errorClass, f.Place, f.Message) }

// Related writes that of a stack which is about one.
func (c *Commands) Related(f *Finding, s *Stack) {
	if c.related {
		about := f.about
		about.Kind = s.Kind
		c.write(noticeClass, s.place, message(about, s.place.Func))
	}
}

// write writes a line, unless there is the same one.
func (c *Commands) write(class string, at *symsrc.Frame, message string) {
	path, _ := Relative(c.root, at.File)
	line := c.line(class, path, at, message) + "\n"
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.seen[line] && c.ofClass[class] < c.most {
		c.seen[line] = true
		c.ofClass[class]++
		_, _ = io.WriteString(c.out, line) // it is a message; the log goes on without it
	}
}

// githubLine returns a workflow command.
func githubLine(class, path string, at *symsrc.Frame, message string) string {
	place := "file=" + githubProperty(path) + fmt.Sprintf(",line=%d", at.Line)
	if at.Column > 0 {
		place += fmt.Sprintf(",col=%d", at.Column)
	}
	return "::" + class + " " + place + "::" + githubData(message)
}

// githubData escapes the message of a workflow command, and githubProperty one of its properties.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace
)

// azureLine returns a logging command.
func azureLine(class, path string, at *symsrc.Frame, message string) string {
	place := "sourcepath=" + azureProperty(path) + fmt.Sprintf(";linenumber=%d;", at.Line)
	if at.Column > 0 {
		place += fmt.Sprintf("columnnumber=%d;", at.Column)
	}
	return "##vso[task.logissue type=" + class + ";" + place + "]" + azureData(message)
}

// azureData escapes the message of a logging command, and azureProperty one of its properties.
var (
	azureData     = strings.NewReplacer("%", "%AZP25", "\r", "%0D", "\n", "%0A").Replace
	azureProperty = strings.NewReplacer("%", "%AZP25", "\r", "%0D", "\n", "%0A", ";", "%3B", "]", "%5D").Replace
)
