package tontest

import (
	"bufio"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/xssnick/tonutils-go/tvm/cell"

	"github.com/fsmgen/fsmgen/internal/parts"
)

//go:embed tvm.js
var program string

// tvm is a process that runs transactions. It is safe for concurrent use.
type tvm struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

// startTVM starts the process, which ends with the test.
func startTVM(t testing.TB) *tvm {
	t.Helper()
	cmd := exec.Command("node", "-e", program)
	cmd.Dir = parts.Address(t, "FSMGEN_TON") // where node looks for modules
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("tontest: start the TVM: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close() // it ends at the end of its input
		if err := cmd.Wait(); err != nil {
			t.Errorf("tontest: the TVM: %v", err)
		}
	})
	return &tvm{in: in, out: bufio.NewReader(out)}
}

// ran is what a message did to an account.
type ran struct {
	account     *cell.Cell // ShardAccount
	transaction *cell.Cell
}

// refusal is why an account did not accept an external message. There is no transaction then.
type refusal struct {
	reason string
	exit   int
}

func (r *refusal) Error() string { return fmt.Sprintf("%s (exit code %d)", r.reason, r.exit) }

// run runs a message on an account. Its error is a *refusal if the account does not accept it.
func (v *tvm) run(account, message *cell.Cell, now uint32, lt uint64) (ran, error) {
	request, err := json.Marshal(map[string]any{
		"account": toBase64(account), "message": toBase64(message), "now": now, "lt": fmt.Sprint(lt),
	})
	if err != nil {
		return ran{}, err
	}
	line, err := v.ask(append(request, '\n'))
	if err != nil {
		return ran{}, fmt.Errorf("tontest: ask the TVM: %w", err)
	}
	var answer struct {
		Account, Transaction, Refused, Failed string
		Exit                                  int
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return ran{}, fmt.Errorf("tontest: the TVM answered %q: %w", line, err)
	}
	switch {
	case answer.Failed != "":
		return ran{}, fmt.Errorf("tontest: the TVM failed: %s", answer.Failed)
	case answer.Refused != "":
		return ran{}, &refusal{answer.Refused, answer.Exit}
	}
	after, err := fromBase64(answer.Account)
	if err != nil {
		return ran{}, err
	}
	transaction, err := fromBase64(answer.Transaction)
	return ran{after, transaction}, err
}

func (v *tvm) ask(request []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := v.in.Write(request); err != nil {
		return nil, err
	}
	return v.out.ReadBytes('\n')
}

func toBase64(c *cell.Cell) string {
	return base64.StdEncoding.EncodeToString(c.ToBOCWithOptions(cell.BOCSerializeOptions{}))
}

func fromBase64(text string) (*cell.Cell, error) {
	boc, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	return cell.FromBOC(boc)
}
