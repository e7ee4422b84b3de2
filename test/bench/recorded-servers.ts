import { createConnection, createServer } from 'mysql2'

/**
 * Many servers that answer as a real one answered the same statement once. Each has a port and an identity of its own;
 * the first of each cluster is the source of the others, and clients write there all the time. A process of its own:
 * what it takes is not what is measured.
 *
 * Words: host of the real ones, first port, servers, of one cluster, port of a real source, port of a real replica.
 */
interface Recorded {
  readonly columns: readonly { readonly name: string; readonly type: number; readonly flags: number }[]
  readonly rows: readonly (readonly (string | null)[])[]
}

type Answers = Map<string, Promise<Recorded>>

const [host = '', ...numbers] = process.argv.slice(2)
const [firstPort = 0, servers = 0, inOneCluster = 1, sourcePort = 0, replicaPort = 0] = numbers.map(Number)
const startedMs = performance.now()
const writesPerSecond = 20

/** Asks the real server, the first time. */
function asking(port: number): (statement: string) => Promise<Recorded> {
  const real = createConnection({ host, port, user: 'regent', password: 'looks', typeCast: false, rowsAsArray: true })
  const answers: Answers = new Map()
  const ask = (statement: string): Promise<Recorded> =>
    new Promise((resolve, reject) => {
      real.query(statement, (error, rows, fields) => {
        if (error !== null) return reject(error)
        const columns = fields.map(({ name, columnType = 253, flags }) => ({
          name,
          type: columnType,
          flags: Number(flags),
        }))
        resolve({ columns, rows: (rows as (Buffer | null)[][]).map((row) => row.map((cell) => cell && String(cell))) })
      })
    })
  return (statement) => {
    const answer = answers.get(statement) ?? ask(statement)
    answers.set(statement, answer)
    return answer
  }
}

const askSource = asking(sourcePort)
const askReplica = asking(replicaPort)
const realUuids = Promise.all(
  [askSource, askReplica].map(async (ask) => (await ask('SELECT @@server_uuid AS uuid')).rows[0]?.[0] ?? ''),
)

const uuidOf = (at: number): string => `0bad0000-0000-4000-8000-${String(at).padStart(12, '0')}`

/** What is another one's of the real answer, in place of that. */
async function answerAs(at: number, statement: string): Promise<Recorded> {
  const first = at - (at % inOneCluster)
  const { columns, rows } = await (at === first ? askSource : askReplica)(statement)
  const [realSource = '', realReplica = ''] = await realUuids
  const written = `${uuidOf(first)}:1-${1_000 + Math.floor(((performance.now() - startedMs) / 1_000) * writesPerSecond)}`
  const own: Readonly<Record<string, string>> = {
    ...{ executed: written, Retrieved_Gtid_Set: written, Executed_Gtid_Set: written },
    ...{ Source_Port: String(firstPort + first), server_id: String(at + 1), port: String(firstPort + at) },
  }
  const cellOf = (cell: string | null, name: string): string | null =>
    cell && (own[name] ?? cell.replaceAll(realSource, uuidOf(first)).replaceAll(realReplica, uuidOf(at)))
  return {
    columns,
    rows: rows.map((row) =>
      row.map((cell, place) =>
        cellOf(cell, columns[0]?.name === 'Variable_name' ? (row[0] ?? '') : (columns[place]?.name ?? '')),
      ),
    ),
  }
}

/** The bytes of results, as the text protocol has them. */
function bytesOf(results: readonly Recorded[]): Buffer {
  const parts: Buffer[] = []
  let sequence = 0
  const packet = (...payload: readonly Buffer[]): void => {
    const body = Buffer.concat(payload)
    const head = Buffer.alloc(4)
    head.writeUIntLE(body.length, 0, 3)
    head[3] = ++sequence % 256
    parts.push(head, body)
  }
  for (const [at, { columns, rows }] of results.entries()) {
    const hasMore = at < results.length - 1
    const end = Buffer.from([254, 0, 0, hasMore ? 0x0a : 0x02, 0])
    packet(Buffer.from([columns.length]))
    for (const { name, type, flags } of columns) {
      const fixed = Buffer.from([12, 45, 0, 0, 4, 0, 0, type, flags % 256, flags >> 8, 0, 0, 0])
      packet(counted('def'), counted(''), counted(''), counted(''), counted(name), counted(name), fixed)
    }
    packet(end)
    for (const row of rows) packet(...row.map((cell) => (cell === null ? Buffer.from([251]) : counted(cell))))
    packet(end)
  }
  return Buffer.concat(parts)
}

function counted(text: string): Buffer {
  const bytes = Buffer.from(text)
  const length =
    bytes.length < 251 ? Buffer.from([bytes.length]) : Buffer.from([252, bytes.length % 256, bytes.length >> 8])
  return Buffer.concat([length, bytes])
}

/** All that a client of mysql2 asks for, but for compression, TLS and results without an end. */
const capabilities = 0xffffff & ~0x20 & ~0x800

interface Inside {
  readonly stream: NodeJS.WritableStream
  _resetSequenceId(): void
}

function serve(at: number): void {
  const server = createServer((connection) => {
    const inside = connection as unknown as Inside
    connection.on('error', () => undefined)
    connection.serverHandshake({
      ...{ protocolVersion: 10, serverVersion: '9.7.4', connectionId: 1, statusFlags: 2, characterSet: 45 },
      capabilityFlags: capabilities,
      authCallback: (_: unknown, done: () => void) => {
        done()
        inside._resetSequenceId()
      },
    })
    connection.on('query', (text: string) => {
      // Answers go past its count of packets.
      inside._resetSequenceId()
      Promise.all(text.split('; ').map((statement) => answerAs(at, statement))).then(
        (results) => inside.stream.write(bytesOf(results)),
        (error: Error) => connection.writeError({ code: 1_064, message: error.message }),
      )
    })
  })
  server.listen(firstPort + at)
}

for (let at = 0; at < servers; at += 1) serve(at)
console.log('serving')
