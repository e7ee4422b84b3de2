import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { sha256Of } from '#common/files/sha256.ts'
import type { Answers, Word } from '#failover/protocol/word.ts'
import type { Parts } from '../instance/parts.ts'
import { hasWrittenAll } from '../ports/process.ts'

type TailGiver = Pick<Parts, 'config' | 'file' | 'process' | 'volume'>

/** What this instance, whose server is down under a promise, has of what the elected one lacks. */
export async function giveTail(parts: TailGiver, said: Word<'tail'>): Promise<Answers['tail']> {
  requireAtRest(parts, said.epoch)
  const { files, ...found } = await parts.volume.findTail(said.gtids)
  return { ...found, files: files.map((file) => ({ ...file, head: file.head.toString('base64') })) }
}

export async function giveTailPart(parts: TailGiver, said: Word<'tailPart'>): Promise<Answers['tailPart']> {
  requireAtRest(parts, said.epoch)
  const bytes = await parts.volume.readTail(said.file, said.offset, said.end)
  return { bytes: bytes.toString('base64'), sha256: sha256Of(bytes) }
}

/** What is read now is all there will ever be: nobody writes there, and its agent starts nothing before it is told. */
function requireAtRest({ file, process, config }: Pick<Parts, 'config' | 'file' | 'process'>, epoch: number): void {
  const { promise } = file.current
  if (promise === epoch && hasWrittenAll(process)) return
  const { instance } = config
  throw new RegentError(
    'REGENT_REFUSED',
    say`${instance} gives its tail under the promise of epoch ${epoch} and with its mysqld down; it promised epoch ${promise}, and its mysqld is ${process.state}`,
  )
}
