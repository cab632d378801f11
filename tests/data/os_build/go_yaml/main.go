// Reads JSON documents, one a line, and prints each with the YAML that the Machine Config Operator's library makes of it.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/ghodss/yaml"
)

type row struct {
	Document any    `json:"document"`
	YAML     string `json:"yaml"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		var document any
		if err := json.Unmarshal(lines.Bytes(), &document); err != nil {
			panic(err)
		}
		written, err := yaml.Marshal(document)
		if err != nil {
			panic(err)
		}
		if err := out.Encode(row{document, string(written)}); err != nil {
			panic(err)
		}
	}
}
