//! All agents in one draw call: a small triangle, and a buffer with position and velocity of each.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use bevy::{
    asset::uuid_handle,
    core_pipeline::{
        Core2d, Core2dSystems,
        core_2d::{main_opaque_pass_2d, main_transparent_pass_2d},
    },
    prelude::*,
    render::{
        Extract, ExtractSchedule, Render, RenderApp, RenderSystems,
        render_resource::{
            binding_types::{storage_buffer_read_only_sized, uniform_buffer},
            *,
        },
        renderer::{RenderContext, RenderDevice, RenderQueue, ViewQuery},
        view::{ExtractedView, ViewTarget, ViewUniform, ViewUniformOffset, ViewUniforms},
    },
    shader::Shader,
};
use bevy_steer::prelude::*;

use crate::common::Palette;

const SHADER: Handle<Shader> = uuid_handle!("0d0b7d4e-3c0f-4f6e-9c55-2a6f1b7e83c1");

/// Whether agents are drawn, and what that costs.
#[derive(Resource, Clone)]
pub struct Drawing {
    pub on: bool,
    /// Whether there is a graphics driver.
    pub possible: bool,
    cost: Arc<AtomicU64>,
}

impl Drawing {
    /// Milliseconds that the last frame took to gather the agents and to hand them to the graphics card.
    pub fn cost_ms(&self) -> f32 {
        self.cost.load(Ordering::Relaxed) as f32 * 1e-6
    }
}

/// Draws every flock member. Without a graphics driver it does nothing.
pub fn plugin(app: &mut App) {
    let possible = app.get_sub_app(RenderApp).is_some();
    let drawing = Drawing { on: possible, possible, cost: Arc::default() };
    app.insert_resource(drawing.clone());
    let shader = Shader::from_wgsl(include_str!("agents.wgsl"), "stress/agents.wgsl");
    let Some(mut shaders) = app.world_mut().get_resource_mut::<Assets<Shader>>() else { return };
    if shaders.insert(&SHADER, shader).is_err() {
        return;
    }
    let Some(render_app) = app.get_sub_app_mut(RenderApp) else { return };
    render_app
        .insert_resource(Instances::new(drawing.cost))
        .add_systems(ExtractSchedule, gather)
        .add_systems(Render, prepare.in_set(RenderSystems::PrepareBindGroups))
        .add_systems(
            Core2d,
            draw.in_set(Core2dSystems::MainPass).after(main_opaque_pass_2d).before(main_transparent_pass_2d),
        );
}

#[derive(Resource)]
struct Instances {
    /// Position and velocity of each agent.
    agents: RawBufferVec<[f32; 4]>,
    headings: UniformBuffer<[Vec4; 7]>,
    layout: BindGroupLayoutDescriptor,
    bind_group: Option<BindGroup>,
    /// The pipeline, and what it was made for.
    pipeline: Option<(TextureFormat, u32, CachedRenderPipelineId)>,
    cost: Arc<AtomicU64>,
}

impl Instances {
    fn new(cost: Arc<AtomicU64>) -> Self {
        // Round the colour wheel, so that headings next to each other look alike.
        let wheel = [
            Palette::TEAL,
            Palette::SKY,
            Palette::VIOLET,
            Palette::ROSE,
            Palette::CORAL,
            Palette::GOLD,
            Palette::GREEN,
        ];
        let entries = (
            uniform_buffer::<ViewUniform>(true),
            uniform_buffer::<[Vec4; 7]>(false),
            storage_buffer_read_only_sized(false, None),
        );
        Self {
            agents: RawBufferVec::new(BufferUsages::STORAGE),
            headings: wheel.map(|color| color.to_linear().to_vec4()).into(),
            layout: BindGroupLayoutDescriptor::new(
                "agents",
                &BindGroupLayoutEntries::sequential(ShaderStages::VERTEX, entries),
            ),
            bind_group: None,
            pipeline: None,
            cost,
        }
    }
}

/// Copies the agents as they stand between the last two ticks. A tick moves an agent by its new velocity times the step,
/// so the way back is exact, and no agent has to remember where it was.
fn gather(
    mut instances: ResMut<Instances>,
    drawing: Extract<Res<Drawing>>,
    time: Extract<Res<Time<Fixed>>>,
    agents: Extract<Query<(&Transform, &SteeringVelocity), With<FlockMember>>>,
) {
    let start = Instant::now();
    let behind = time.timestep().saturating_sub(time.overstep()).as_secs_f32();
    let list = instances.agents.values_mut();
    list.clear();
    if drawing.on {
        list.extend(agents.iter().map(|(transform, velocity)| {
            let position = transform.translation - velocity.0 * behind;
            [position.x, position.y, velocity.x, velocity.y]
        }));
    }
    instances.cost.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
}

/// Hands the agents to the graphics card, and makes the pipeline where there is none yet.
fn prepare(
    mut instances: ResMut<Instances>,
    views: Query<(&ExtractedView, &Msaa), With<ViewTarget>>,
    view_uniforms: Res<ViewUniforms>,
    pipelines: Res<PipelineCache>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
) {
    let start = Instant::now();
    let this = &mut *instances;
    this.agents.write_buffer(&device, &queue);
    if this.headings.buffer().is_none() {
        this.headings.write_buffer(&device, &queue);
    }
    if let (Some(view), Some(headings), Some(agents)) =
        (view_uniforms.uniforms.binding(), this.headings.binding(), this.agents.binding())
    {
        let layout = pipelines.get_bind_group_layout(&this.layout);
        let entries = BindGroupEntries::sequential((view, headings, agents));
        this.bind_group = Some(device.create_bind_group("agents", &layout, &entries));
    }
    // One camera draws the crowd.
    if let Some((view, msaa)) = views.iter().next() {
        let (format, samples) = (view.target_format, msaa.samples());
        if this.pipeline.is_none_or(|(f, s, _)| (f, s) != (format, samples)) {
            let descriptor = pipeline(this.layout.clone(), format, samples);
            this.pipeline = Some((format, samples, pipelines.queue_render_pipeline(descriptor)));
        }
    }
    this.cost.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
}

fn pipeline(
    layout: BindGroupLayoutDescriptor,
    format: TextureFormat,
    samples: u32,
) -> RenderPipelineDescriptor {
    RenderPipelineDescriptor {
        label: Some("agents".into()),
        layout: vec![layout],
        vertex: VertexState { shader: SHADER, ..default() },
        fragment: Some(FragmentState {
            shader: SHADER,
            targets: vec![Some(ColorTargetState { format, blend: None, write_mask: ColorWrites::ALL })],
            ..default()
        }),
        multisample: MultisampleState { count: samples, ..default() },
        ..default()
    }
}

/// The one draw call, over the background and under everything that is transparent.
fn draw(
    view: ViewQuery<(&ViewTarget, &ViewUniformOffset)>,
    instances: Res<Instances>,
    pipelines: Res<PipelineCache>,
    mut context: RenderContext,
) {
    let (target, offset) = view.into_inner();
    let pipeline = instances.pipeline.and_then(|(_, _, id)| pipelines.get_render_pipeline(id));
    let (Some(pipeline), Some(bind_group)) = (pipeline, &instances.bind_group) else { return };
    let mut pass = context.begin_tracked_render_pass(RenderPassDescriptor {
        label: Some("agents"),
        color_attachments: &[Some(target.get_color_attachment())],
        depth_stencil_attachment: None,
        timestamp_writes: None,
        occlusion_query_set: None,
        multiview_mask: None,
    });
    pass.set_render_pipeline(pipeline);
    pass.set_bind_group(0, bind_group, &[offset.offset]);
    pass.draw(0..3 * instances.agents.len() as u32, 0..1);
}
