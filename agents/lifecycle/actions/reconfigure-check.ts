import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

type Parameters = Readonly<Record<string, string | undefined>>

/** Whether an action changes the configuration of a running server. */
export function isReconfigure(name: string): boolean {
  return name === 'reconfigure' || name.startsWith('udf-reconfigure')
}

/**
 * What is wrong with the configuration files that the parameters speak of, undefined where nothing is. The kubelet
 * brings a changed ConfigMap into a pod up to two minutes late; the caller tries again.
 */
export async function complaintAboutFiles(parameters: Parameters): Promise<string | undefined> {
  return (
    (await complaintAboutEach(parameters['KB_CONFIG_FILES_CREATED'], async (file) =>
      (await isThere(file)) ? undefined : `file ${file} is not there yet`,
    )) ??
    (await complaintAboutEach(parameters['KB_CONFIG_FILES_REMOVED'], async (file) =>
      (await isThere(file)) ? `file ${file} is still there` : undefined,
    )) ??
    complaintAboutEach(parameters['KB_CONFIG_FILES_UPDATED'], complaintAboutContent)
  )
}

async function complaintAboutEach(
  list: string | undefined,
  complaintAbout: (item: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  const items = (list ?? '').split(',').filter((item) => item.trim() !== '')
  for (const item of items) {
    const complaint = await complaintAbout(item.trim())
    if (complaint !== undefined) return complaint
  }
  return undefined
}

/** `file:sha256`, the digest in hexadecimal. */
async function complaintAboutContent(item: string): Promise<string | undefined> {
  const colon = item.lastIndexOf(':')
  const [file, wanted] = [item.slice(0, colon), item.slice(colon + 1).toLowerCase()]
  if (colon < 1 || !/^[0-9a-f]{64}$/.test(wanted)) return `"${item.slice(0, 200)}" is not file:sha256`
  const found = await digestOf(file)
  if (found === undefined) return `file ${file} is not there yet`
  return found === wanted ? undefined : `file ${file} has not its new content yet: sha256 ${found}, not ${wanted}`
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
