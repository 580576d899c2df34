package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/ferry/server/store"
)

func TestHealth(t *testing.T) {
	w := httptest.NewRecorder()
	NewHandler(store.NewMemory()).ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
	if !strings.Contains(w.Body.String(), "ok") {
		t.Fatalf("unexpected body %q", w.Body.String())
	}
}

func TestMissingRecord(t *testing.T) {
	w := httptest.NewRecorder()
	NewHandler(store.NewMemory()).ServeHTTP(w, httptest.NewRequest("GET", "/records/none", nil))
	if w.Code != 404 {
		t.Fatalf("got %d, want 404", w.Code)
	}
}
