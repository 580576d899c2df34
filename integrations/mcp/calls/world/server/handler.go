package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"example.com/ferry/server/store"
)

const maxBody = 1 << 20

// Handler serves records.
type Handler struct {
	store store.Store
	mux   *http.ServeMux
}

func NewHandler(s store.Store) *Handler {
	h := &Handler{store: s, mux: http.NewServeMux()}
	h.mux.HandleFunc("/records/", h.handleRecord)
	h.mux.HandleFunc("/healthz", h.handleHealth)
	return h
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	h.mux.ServeHTTP(w, r)
}

func (h *Handler) handleRecord(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, "/records/")
	switch r.Method {
	case http.MethodGet:
		record, err := h.store.Get(r.Context(), key)
		if errors.Is(err, store.ErrNotFound) {
			http.NotFound(w, r)
			return
		}
		writeJSON(w, record)
	case http.MethodPut:
		var record store.Record
		if err := json.NewDecoder(r.Body).Decode(&record); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		record.Key = key
		if err := h.store.Put(r.Context(), record); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (h *Handler) handleHealth(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]string{"status": "ok"})
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
