//go:build linux || darwin

package cache

// Check tells what keeps the cache from working, nil for nothing. It starts its process where there is none.
func (o *Options) Check() error {
	if o.Off {
		return nil
	}
	dir, err := o.Directory()
	if err != nil {
		return err
	}
	l, _, err := reach(o, dir)
	if err != nil {
		return err
	}
	return l.conn.Close()
}
