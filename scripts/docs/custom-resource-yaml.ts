import { stringify } from 'yaml'
import { customResourceDefinition } from '#kube/definition/custom-resource-definition.ts'

/**
 * charts/regent/templates/custom-resource-definition.yaml: a template rather than a file in `crds/`, which Helm never
 * upgrades.
 */
export function customResourceYaml(): string {
  return `# Made from src/kube/ by scripts/generate-docs.ts; "npm run docs" writes it again.\n${stringify(customResourceDefinition(), { lineWidth: 0 })}`
}
