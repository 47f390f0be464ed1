// Package events prints what a client has seen, a JSON object a line.
package events

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
)

// Print prints an event with its values.
func Print(event string, values ...any) {
	line, err := json.Marshal(map[string]any{"event": event, "value": values})
	Check(err)
	fmt.Println(string(line))
}

// Own prints those of some names that are expected, sorted.
func Own(event string, names []string, expected ...string) {
	found := []string{}
	for _, name := range names {
		for _, each := range expected {
			if name == each {
				found = append(found, name)
			}
		}
	}
	sort.Strings(found)
	Print(event, found)
}

// Check ends the program with an error.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		panic(err)
	}
}
