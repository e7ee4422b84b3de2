import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { sha256Of } from '#common/files/sha256.ts'
import type { Transport } from '#common/ports/ports.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { salvageTakes } from '#failover/protocol/order.ts'
import { sayWord } from '#failover/protocol/word.ts'
import type { TailPort } from '../ports/tail.ts'

interface Ports {
  readonly transport: Transport
  readonly cluster: string
  readonly deadlineMs: number
}

/** How often a part is asked for that did not arrive whole. */
const attempts = 3

/** The tail as the agent beside the dead server gives it. What was had before is not asked for again. */
export function nearTail({ transport, cluster, deadlineMs }: Ports): TailPort {
  return ({ agent, member, epoch }) => {
    const base = { version: orderVersion, cluster, member, epoch }
    const readOnce = async (file: string, offset: number, end: number): Promise<Buffer> => {
      const answer = await sayWord({ transport, deadlineMs }, agent, 'tailPart', { ...base, file, offset, end })
      const bytes = Buffer.from(answer.bytes, 'base64')
      if (bytes.length !== end - offset || sha256Of(bytes) !== answer.sha256)
        throw new RegentError(
          'REGENT_BINLOG_UNREADABLE',
          say`bytes ${offset} to ${end} of ${file} did not arrive whole`,
        )
      return bytes
    }
    return {
      async find(wanted) {
        // All files are looked through for it, and those of a far host come first.
        const found = await sayWord({ transport, deadlineMs: deadlineMs * salvageTakes }, agent, 'tail', {
          ...base,
          gtids: wanted,
        })
        const files = found.files.map((file) => ({ ...file, head: Buffer.from(file.head, 'base64') }))
        return { ...found, files }
      },
      async read(file, offset, end) {
        for (let attempt = 1; ; attempt += 1) {
          try {
            return await readOnce(file, offset, end)
          } catch (error) {
            if (attempt === attempts) throw error
          }
        }
      },
    }
  }
}
