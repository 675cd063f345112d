package command

import (
	"context"
	"errors"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"qss-filter/filter/command/cli"
	"qss-filter/symsrc"
	"qss-filter/symsrc/serve"
)

// servePatience is how long requests wait for other servers, all together: as long as each of these may take.
const servePatience = 365 * 24 * time.Hour

// serveCommand is `qss-filter serve DIR ...`.
func serveCommand(fs *cli.Flags) cli.Run {
	s := newSymbols()
	var address string
	fs.String(&address, "listen", "127.0.0.1:8002", "`ADDRESS` to serve at, such as :8002 for all networks")
	symbolFlags(fs, s)
	return func() (int, error) {
		places := fs.Args()
		s.Files.Symbols = append(s.Files.Symbols, places...)
		s.Servers.Wait, s.Servers.Via = servePatience, serve.NewVia()
		finder, end, err := s.Finder()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		on, err := net.Listen("tcp", address)
		if err != nil {
			return cli.Failed, err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		o := serve.Options{Finder: finder, Via: s.Servers.Via, Log: complain, Source: s.SourceOf}
		for _, place := range places {
			if info, err := os.Stat(place); err == nil && info.IsDir() {
				o.Dirs = append(o.Dirs, place)
			}
		}
		complain("serving %s at http://%s: set DEBUGINFOD_URLS to that; Ctrl-C ends it", strings.Join(places, ", "), on.Addr())
		go func() { // so that the first request does not wait for it
			began := time.Now()
			finder.Find(ctx, symsrc.Module{BuildID: symsrc.BuildID(make([]byte, 20))})
			if ctx.Err() == nil {
				complain("the places are searched, in %v", time.Since(began).Round(time.Millisecond))
			}
		}()
		if err := serve.New(o).Run(ctx, on); err != nil && !errors.Is(err, net.ErrClosed) {
			return cli.Failed, err
		}
		return cli.OK, nil
	}
}
