import { say, text, type Sentence } from '#common/sentence/sentence.ts'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { refusal, type ActionResult } from '../wire/calls.ts'

type Parameters = Readonly<Record<string, string | undefined>>

/** Whether an action changes the configuration of a running server. */
export function isReconfigure(name: string): boolean {
  return name === 'reconfigure' || name.startsWith('udf-reconfigure')
}

/**
 * Why the call is refused for the configuration files that its parameters speak of, undefined where it is not. The
 * kubelet brings a changed ConfigMap into a pod up to two minutes late; the caller tries again.
 */
export async function refusalForFiles(parameters: Parameters): Promise<ActionResult | undefined> {
  return (
    (await refusalForEach(parameters['KB_CONFIG_FILES_CREATED'], async (file) =>
      (await isThere(file)) ? undefined : tooEarly(say`file ${file} is not there yet`),
    )) ??
    (await refusalForEach(parameters['KB_CONFIG_FILES_REMOVED'], async (file) =>
      (await isThere(file)) ? tooEarly(say`file ${file} is still there`) : undefined,
    )) ??
    refusalForEach(parameters['KB_CONFIG_FILES_UPDATED'], refusalForContent)
  )
}

function tooEarly(why: Sentence): ActionResult {
  return refusal('preconditionFailed', why)
}

async function refusalForEach(
  list: string | undefined,
  refusalFor: (item: string) => Promise<ActionResult | undefined>,
): Promise<ActionResult | undefined> {
  if (list === undefined || list === '') return undefined
  for (const item of list.split(',')) {
    const refused = await refusalFor(item.trim())
    if (refused !== undefined) return refused
  }
  return undefined
}

/** `file:sha256`, the digest in hexadecimal. What is written otherwise no later call makes right. */
async function refusalForContent(item: string): Promise<ActionResult | undefined> {
  const colon = item.lastIndexOf(':')
  const [file, wanted] = [item.slice(0, colon), item.slice(colon + 1).toLowerCase()]
  if (colon < 1 || !/^[0-9a-f]{64}$/.test(wanted))
    return refusal('badRequest', say`KB_CONFIG_FILES_UPDATED: "${text(item.slice(0, 200))}" is not file:sha256`)
  const found = await digestOf(file)
  if (found === undefined) return tooEarly(say`file ${file} is not there yet`)
  return found === wanted
    ? undefined
    : tooEarly(say`file ${file} has not its new content yet: sha256 ${text(found)}, not ${text(wanted)}`)
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

async function digestOf(file: string): Promise<string | undefined> {
  const hash = createHash('sha256')
  return pipeline(createReadStream(file), hash).then(
    () => hash.digest('hex'),
    () => undefined,
  )
}
