// One triangle per agent, coloured by its heading.

#import bevy_render::view::View

@group(0) @binding(0) var<uniform> view: View;
// Linear colours for headings from -X anticlockwise, round to -X again.
@group(0) @binding(1) var<uniform> headings: array<vec4<f32>, 7>;
@group(0) @binding(2) var<storage, read> agents: array<Agent>;

struct Agent {
    position: vec2<f32>,
    velocity: vec2<f32>,
}

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) @interpolate(flat) color: vec4<f32>,
}

// Seen from afar an agent is drawn larger than it is: at least this many pixels.
const LEAST_PIXELS: f32 = 2.2;

@vertex
fn vertex(@builtin(vertex_index) index: u32) -> Corner {
    let agent = agents[index / 3u];
    let speed = length(agent.velocity);
    let ahead = select(vec2(1.0, 0.0), agent.velocity / speed, speed > 1e-4);
    var corners = array(vec2(0.62, 0.0), vec2(-0.48, 0.36), vec2(-0.48, -0.36));
    let pixel = 2.0 / (view.viewport.w * abs(view.clip_from_world[1][1]));
    let corner = corners[index % 3u] * max(1.0, LEAST_PIXELS * pixel);
    let turned = vec2(ahead.x * corner.x - ahead.y * corner.y, ahead.y * corner.x + ahead.x * corner.y);

    // Round a diamond instead of a circle: nearly the angle, and no arctangent.
    let side = ahead.x / (abs(ahead.x) + abs(ahead.y));
    let turn = select(1.0 + side, 3.0 - side, ahead.y > 0.0) * (7.0 / 4.0);
    let first = min(u32(turn), 6u);
    let color = mix(headings[first], headings[(first + 1u) % 7u], fract(turn));
    return Corner(view.clip_from_world * vec4(agent.position + turned, 0.0, 1.0), color);
}

@fragment
fn fragment(corner: Corner) -> @location(0) vec4<f32> {
    return corner.color;
}
