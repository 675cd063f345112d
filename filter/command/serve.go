package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"qss-filter/filter/command/cli"
	"qss-filter/symsrc"
	"qss-filter/symsrc/serve"
)

// servePatience is how long requests wait for other servers, all together: as long as each of these may take.
const servePatience = 365 * 24 * time.Hour

// serveCache bounds the downloads that a server keeps, in bytes.
const serveCache = 16 << 30

// showReading shows on a terminal how many files of the trees have been read, in a line that is erased when all have been, or over is closed.
func showReading(w io.Writer, reading func() (files, of int64, done bool), over <-chan struct{}) {
	const every = 200 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-over:
		case <-tick.C:
			files, of, done := reading()
			if done {
				break
			}
			shown = true
			if of > files {
				fmt.Fprintf(w, "\rreading %d of about %d files (%d %%)\x1b[K", files, of, 100*files/of)
			} else {
				fmt.Fprintf(w, "\rreading %d files\x1b[K", files)
			}
			continue
		}
		if shown {
			fmt.Fprint(w, "\r\x1b[K")
		}
		return
	}
}

// placesOption is the option that has the places.
const placesOption = "locate.Symbols"

// listening returns why a server cannot listen, and what can be done.
func listening(err error) error {
	if of, ok := errors.AsType[*net.OpError](err); ok {
		err = of.Err
	}
	if cause, ok := errors.AsType[*os.SyscallError](err); ok {
		err = cause.Err
	}
	if wrong, ok := errors.AsType[*net.AddrError](err); ok {
		return fmt.Errorf("%s: want an address and a port, such as 127.0.0.1:8002 or :8002", wrong.Err)
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w by another program: --listen 127.0.0.1:0 takes a port that is free", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: ports from 1024 on need none", err)
	}
	return err
}

// serveCommand is `qss-filter serve DIR ...`.
func serveCommand(fs *cli.Flags) cli.Run {
	s := newSymbols()
	var address string
	fs.String(&address, "listen", "127.0.0.1:8002", "`ADDRESS` to serve at, such as :8002 for all networks")
	symbolFlags(fs, s)
	return func() (int, error) {
		places := fs.Args()
		named := len(s.Files.Symbols) > 0
		s.Files.Symbols = append(s.Files.Symbols, places...)
		s.Servers.Wait, s.Servers.Via, s.Servers.MaxCache = servePatience, serve.NewVia(), serveCache
		finder, end, err := s.Finder()
		if err != nil {
			if wrong, ok := errors.AsType[*symsrc.OptionError](err); ok && wrong.Option == placesOption && !named {
				err = wrong.Err // of a place, which stands behind no flag
			}
			return cli.Usage, err
		}
		defer end()
		on, err := net.Listen("tcp", address)
		if err != nil {
			return cli.Failed, fmt.Errorf("--listen %s: %w", address, listening(err))
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		o := serve.Options{Finder: finder, Via: s.Servers.Via, Log: complain, Source: s.SourceOf, Program: s.ProgramOf, Local: s.Local()}
		for _, place := range places {
			if info, err := os.Stat(place); err == nil && info.IsDir() {
				o.Dirs = append(o.Dirs, place)
			}
		}
		complain("serving %s at http://%s: set DEBUGINFOD_URLS to that; Ctrl-C ends it", strings.Join(places, ", "), on.Addr())
		go func() { // so that the first request does not wait for it
			began := time.Now()
			var shown sync.WaitGroup
			over := make(chan struct{})
			if isTerminal(os.Stderr) {
				shown.Go(func() { showReading(os.Stderr, s.Reading, over) })
			}
			s.Local().Find(ctx, symsrc.Module{BuildID: symsrc.BuildID(make([]byte, 20))})
			close(over)
			shown.Wait()
			if ctx.Err() == nil {
				complain("the places are searched, in %v; files that come later count from the next start on", time.Since(began).Round(time.Millisecond))
			}
		}()
		if err := serve.New(o).Run(ctx, on); err != nil && !errors.Is(err, net.ErrClosed) {
			return cli.Failed, err
		}
		return cli.OK, nil
	}
}
