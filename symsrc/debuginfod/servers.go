package debuginfod

import "os"

// Servers returns the URLs of the servers that are asked, none where Off is set.
func (o Options) Servers() []string {
	switch {
	case o.Off:
		return nil
	case len(o.URLs) > 0:
		return o.URLs
	}
	o.Warn = nil
	if o.Environ == nil {
		o.Environ = os.Getenv
	}
	return o.environURLs()
}
