// Two small programs for the lab's images, by the name they are run under: `pause`, the first process of every pod sandbox, which takes
// in what the pod's other processes leave behind; and `sleep`. Both end on SIGTERM. As the first process of a container the usual sleep
// would not hear it, and every pod of a scene would end only when its grace period is over, which the kubelet makes two seconds at least.
package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

func main() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	var end <-chan time.Time
	if filepath.Base(os.Args[0]) == "sleep" && len(os.Args) > 1 && os.Args[1] != "infinity" {
		end = time.After(duration(os.Args[1]))
	}
	for {
		select {
		case <-end:
			return
		case s := <-signals:
			if s != syscall.SIGCHLD {
				os.Exit(128 + int(s.(syscall.Signal)))
			}
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
					break
				}
			}
		}
	}
}

// Seconds, or a number with s, m, h.
func duration(text string) time.Duration {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(seconds * float64(time.Second))
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		os.Stderr.WriteString("sleep: invalid number '" + text + "'\n")
		os.Exit(1)
	}
	return d
}
