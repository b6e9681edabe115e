// The TVM of the TON node behind lines of JSON: a request on standard input, an answer on standard
// output, in the same order. It keeps no state between two requests.
const { Executor, defaultConfig } = require('@ton/sandbox');
const { Cell } = require('@ton/core');
const readline = require('readline');

async function run(tvm, request) {
  const { result } = await tvm.runTransaction({
    config: defaultConfig, libs: null, verbosity: 'short', ignoreChksig: false, debugEnabled: false, randomSeed: Buffer.alloc(32),
    shardAccount: request.account, message: Cell.fromBase64(request.message), now: request.now, lt: BigInt(request.lt),
  });
  if (result.success) {
    return { account: result.shardAccount, transaction: result.transaction };
  }
  return { refused: result.error, exit: result.vmResults ? result.vmResults.vmExitCode : 0 };
}

Executor.create().then(async tvm => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer;
    try {
      answer = await run(tvm, JSON.parse(line));
    } catch (error) {
      answer = { failed: String(error) };
    }
    process.stdout.write(JSON.stringify(answer) + '\n');
  }
});
