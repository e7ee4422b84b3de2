import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const script = join(import.meta.dirname, '..', '..', 'scripts', 's3', 'versitygw')

/** Undefined where the program is not here and cannot be built, since Go is not here either. */
export async function findVersitygw(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('sh', [script])
    return stdout.trim()
  } catch (error) {
    const { code, stderr } = error as { code?: number; stderr?: string }
    if (code !== 3) throw new Error(`versitygw was not built: ${stderr ?? String(error)}`, { cause: error })
    if (process.env['REGENT_REQUIRE_S3'] === 'true') throw new Error(stderr, { cause: error })
    console.error(missingServer)
    return undefined
  }
}

/** Said so that nobody overlooks it. */
const missingServer = [
  '',
  '┌──────────────────────────────────────────────────────────────────────────────────────────────┐',
  '│  NOT TESTED: backups in a bucket of S3, for which a real S3 server is needed (versitygw).    │',
  '│  It is built from Go modules, once, in about five minutes: install Go 1.24 or newer, put it  │',
  '│  on PATH, and run the tests again. Or name the program that you have:                        │',
  '│                                                                                              │',
  '│      REGENT_VERSITYGW=/path/to/versitygw npm test                                            │',
  '└──────────────────────────────────────────────────────────────────────────────────────────────┘',
  '',
].join('\n')
