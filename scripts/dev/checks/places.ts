/** Where things are, for the checks. */
export const PAYLOAD_DIR = "plugins/orchestrate/skills/orchestrate/";
export const SKILL_FILE = `${PAYLOAD_DIR}SKILL.md`;
export const PLUGIN_FILE = "plugins/orchestrate/.claude-plugin/plugin.json";
export const MARKETPLACE_FILE = ".claude-plugin/marketplace.json";
/** Markdown for people and agents; test fixtures are none. */
export const DOCUMENTS = /^(?!scripts\/)(?!.*CHANGELOG)[^\n]+\.md$/;
