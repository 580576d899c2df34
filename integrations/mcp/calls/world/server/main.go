// The server keeps records and hands them out over HTTP.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"

	"example.com/ferry/server/store"
)

func main() {
	port := flag.Int("port", 7070, "the port to listen on")
	flag.Parse()
	handler := NewHandler(store.NewMemory())
	log.Printf("listening on %d", *port)
	log.Fatal(http.ListenAndServe(fmt.Sprintf(":%d", *port), handler))
}
