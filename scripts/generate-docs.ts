import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { adoptPage } from './docs/adopt-page.ts'
import { commandLinePage } from './docs/command-line-page.ts'
import { configurationPage } from './docs/configuration-page.ts'
import { appDefinitionYaml, backupDefinitionYaml, customResourceYaml } from './docs/custom-resource-yaml.ts'
import { errorsPage } from './docs/errors-page.ts'
import { kubernetesReferencePage } from './docs/kubernetes-reference-page.ts'
import { fromOrchestratorPage } from './docs/from-orchestrator-page.ts'
import { mutationsPage } from './docs/mutations-page.ts'
import { orchestratorPage } from './docs/orchestrator-page.ts'
import { sentencesPage } from './docs/sentences-page.ts'

/**
 * Writes what is made from the code: pages of docs/ and the custom resource definition. With --check it writes nothing,
 * and fails with a sentence when one is not what the code says.
 */
const root = join(import.meta.dirname, '..')

const files: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/guide/adopt.md': () => adoptPage(join(root, 'docs/guide/adopt.md')),
  'docs/guide/from-orchestrator.md': () => fromOrchestratorPage(join(root, 'docs/guide/from-orchestrator.md')),
  'docs/reference/cli.md': commandLinePage,
  'docs/reference/configuration.md': configurationPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/kubernetes-reference.md': kubernetesReferencePage,
  'docs/reference/mutations.md': mutationsPage,
  'docs/reference/orchestrator-api.md': orchestratorPage,
  'docs/reference/sentences.md': sentencesPage,
  'charts/regent/templates/custom-resource-definition.yaml': customResourceYaml,
  'charts/regent/templates/app-definition.yaml': appDefinitionYaml,
  'charts/regent/templates/backup-definition.yaml': backupDefinitionYaml,
}

async function differing(): Promise<readonly string[]> {
  const different: string[] = []
  for (const [name, render] of Object.entries(files)) {
    const written = await readFile(join(root, name), 'utf8').catch(() => '')
    if (written !== (await render())) different.push(name)
  }
  return different
}

async function writeAll(): Promise<void> {
  for (const [name, render] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), await render())
  }
}

if (process.argv.includes('--check')) {
  const different = await differing()
  if (different.length > 0) {
    console.error(
      `${different.join(' and ')} ${different.length === 1 ? 'is' : 'are'} not what the code says; "npm run docs" writes it again.`,
    )
    process.exitCode = 1
  }
} else {
  await writeAll()
  console.log(`wrote ${Object.keys(files).join(', ')}`)
}
