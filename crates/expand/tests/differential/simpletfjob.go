// What simpletfjob did, with the real text/template, for the differential test: one case a line comes in as JSON, one
// answer a line goes out. What made it panic, exit or stop in the middle of a document is answered with `refused`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"
)

type question struct {
	Template string
	Nodes    []string
	Exclude  *string
	Num      int
	Psn      int
}

type answer struct {
	Text    string `json:"text"`
	Refused string `json:"refused"`
}

// hosts leaves out what is excluded and takes the first num of the rest.
func hosts(q question) ([]string, error) {
	left := q.Nodes
	if q.Exclude != nil {
		gone := map[string]bool{}
		for _, line := range strings.Split(strings.TrimSpace(*q.Exclude), "\n") {
			gone[strings.TrimSpace(line)] = true
		}
		left = nil
		for _, node := range q.Nodes {
			if !gone[node] {
				left = append(left, node)
			}
		}
	}
	if q.Num == -1 || q.Num == 0 {
		return left, nil
	}
	if q.Num < 0 || q.Num > len(left) {
		return nil, fmt.Errorf("num %d of %d", q.Num, len(left))
	}
	return left[:q.Num], nil
}

func addresses(hosts []string) string {
	quoted := make([]string, len(hosts))
	for i, host := range hosts {
		quoted[i] = `"` + host + `:2222"`
	}
	return strings.Join(quoted, ",")
}

func config(ps, workers []string, kind string, index int) string {
	lines := []string{
		`{`,
		`  "cluster": {`,
		`    "ps": [` + addresses(ps) + `],`,
		`    "worker": [` + addresses(workers) + `]`,
		`  },`,
		`  "task": {`,
		fmt.Sprintf(`    "index": %d,`, index),
		fmt.Sprintf(`    "type": "%s"`, kind),
		`  }`,
		`}`,
	}
	text := ""
	for _, line := range lines {
		text += strings.Repeat(" ", 16) + line + "\n"
	}
	return text
}

func expand(q question) (string, error) {
	used, err := hosts(q)
	if err != nil {
		return "", err
	}
	if q.Psn <= 0 || q.Psn >= len(used) {
		return "", fmt.Errorf("psn %d of %d", q.Psn, len(used))
	}
	job, err := template.New("job").Parse(strings.TrimSpace(q.Template))
	if err != nil {
		return "", err
	}
	ps, workers := used[:q.Psn], used[q.Psn:]
	var documents []string
	for number, host := range used {
		kind, index := "ps", number
		if number >= q.Psn {
			kind, index = "worker", number-q.Psn
		}
		var document strings.Builder
		err := job.Execute(&document, map[string]string{
			"type":      kind,
			"index":     fmt.Sprint(index),
			"host":      host,
			"TF_CONFIG": config(ps, workers, kind, index),
		})
		if err != nil {
			return "", err
		}
		if strings.Contains(document.String(), "<no value>") {
			return "", fmt.Errorf("no value")
		}
		documents = append(documents, document.String())
	}
	return strings.Join(documents, "\n---\n"), nil
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			panic(err)
		}
		text, err := expand(q)
		a := answer{Text: text}
		if err != nil {
			a.Refused = err.Error()
		}
		line, err := json.Marshal(a)
		if err != nil {
			panic(err)
		}
		out.Write(append(line, '\n'))
	}
}
