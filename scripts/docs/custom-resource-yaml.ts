import { stringify } from 'yaml'
import { appDefinition } from '#kube/definition/app-definition.ts'
import { backupDefinition } from '#kube/definition/backup-definition.ts'
import { customResourceDefinition } from '#kube/definition/custom-resource-definition.ts'

/**
 * charts/regent/templates/custom-resource-definition.yaml: a template rather than a file in `crds/`, which Helm never
 * upgrades.
 */
export function customResourceYaml(): string {
  return yamlOf(customResourceDefinition())
}

/** charts/regent/templates/backup-definition.yaml */
export function backupDefinitionYaml(): string {
  return yamlOf(backupDefinition())
}

/** charts/regent/templates/app-definition.yaml */
export function appDefinitionYaml(): string {
  return yamlOf(appDefinition())
}

function yamlOf(definition: object): string {
  return `# Made from src/kube/ by scripts/generate-docs.ts; "npm run docs" writes it again.\n${stringify(definition, { lineWidth: 0 })}`
}
