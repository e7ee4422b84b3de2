import tseslint from 'typescript-eslint'
import { roomsRule } from './scripts/lint/rooms.js'

const outsideWorld = [
  { selector: "NewExpression[callee.name='Date']", message: 'Use the Clock port.' },
  { selector: "MemberExpression[object.name='Date'][property.name='now']", message: 'Use the Clock port.' },
  { selector: "MemberExpression[object.name='performance']", message: 'Use the Clock port.' },
  { selector: "MemberExpression[object.name='Math'][property.name='random']", message: 'Use the Random port.' },
  {
    selector: 'CallExpression[callee.name=/^(setTimeout|setInterval|setImmediate|fetch)$/]',
    message: 'Use the Timers or Transport port.',
  },
  {
    selector: "ImportDeclaration[importKind!='type'][source.value=/^node:(?!(?:crypto|path)$)/]",
    message: 'No I/O here: use a port.',
  },
]

/** Text of others would be part of a path: `kubePath` judges and encodes each. */
const kubePaths = ['TemplateElement[value.raw=', 'Literal[value='].map((node) => ({
  selector: `${node}/^\\u002Fapis?\\u002F|\\u002Fnamespaces\\u002F/]`,
  message: 'Paths of the Kubernetes API are made by kubePath alone (src/common/http/kube-path.ts).',
}))

export default tseslint.config(
  { ignores: ['node_modules/', '.cache/', 'eslint.config.js', 'scripts/lint/', 'vitest.config.ts'] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      complexity: ['error', 10],
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true, ignoreUsingDeclarations: true }],
      'max-depth': ['error', 3],
      'max-params': ['error', 4],
      'max-lines': ['error', 450],
      'max-len': [
        'error',
        { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreUrls: true, ignoreRegExpLiterals: true },
      ],
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['{agents,failover,src,topology}/**/*.ts'],
    plugins: { regent: { rules: { rooms: roomsRule(import.meta.dirname) } } },
    rules: { 'regent/rooms': 'error' },
  },
  {
    files: ['{agents,src}/**/*.ts'],
    ignores: ['**/*.test.ts', '**/testing*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { name: 'node:http', allowTypeImports: true, message: 'Use src/common/http/node-http.ts.' },
      ],
    },
  },
  {
    files: ['{agents,src}/**/*.ts'],
    ignores: [
      '**/*.test.ts',
      '**/testing*.ts',
      'src/common/http/kube-path.ts',
      // Regent's own API is below /api/v1, too.
      'src/{manager/api,cli/connection}/**',
    ],
    rules: { 'no-restricted-syntax': ['error', ...kubePaths] },
  },
  {
    files: [
      'topology/**',
      'failover/**',
      'agents/{converge,doubts,group,guard,instance,observe,orders,ports,semisync}/**',
      'src/manager/loop/**',
    ],
    ignores: [
      '**/*.test.ts',
      // The I/O of these rooms itself; the simulation has others in their places.
      'agents/group/xcom/{stream,testing*}.ts',
      'agents/guard/client-certificate.ts',
      'agents/instance/{medium,server-id,volume-lock}.ts',
    ],
    rules: { 'no-restricted-syntax': ['error', ...outsideWorld, ...kubePaths] },
  },
)
