package sources

import "testing"

func TestNamesSource(t *testing.T) {
	for file, want := range map[string]bool{
		"/src/a.c": true, "/src/A.CPP": true, "a.rs": true, "/usr/include/c++/12/vector": true, "/build/x/parse.y": true,
		"/root/.ssh/id_rsa": false, "/home/u/.netrc": false, "/etc/shadow": false, "/etc/ssl/private/key.pem": false, "/src/.c/token": false,
		"/usr/include/secret.key": false, "": false,
	} {
		if got := namesSource(file); got != want {
			t.Errorf("%q: %v", file, got)
		}
	}
}
