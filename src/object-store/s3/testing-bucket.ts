import { createServer, type RequestListener } from 'node:http'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openS3Store } from './s3-store.ts'

/** A store in a bucket, whose server answers as a test says; gone after the test. */
export async function bucketThatAnswers(answer: RequestListener, prefix = '') {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = await mkdtemp(join(tmpdir(), 'regent-s3-'))
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await rm(folder, { recursive: true, force: true })
  })
  for (const name of ['accessKeyId', 'secretAccessKey']) await writeFile(join(folder, name), name)
  const { port } = server.address() as AddressInfo
  const store = await openS3Store(
    { kind: 's3', shown: 's3://bucket', bucket: 'bucket', prefix },
    { endpoint: `http://127.0.0.1:${port}`, pathStyle: true, credentials: { kind: 'folder', folder } },
    { connectMs: 5_000, silenceMs: 5_000, budgetMs: 100 },
  )
  onTestFinished(() => store.close())
  return store
}
